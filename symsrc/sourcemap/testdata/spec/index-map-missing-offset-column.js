//# sourceMappingURL=index-map-missing-offset-column.js.map
