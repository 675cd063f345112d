//# sourceMappingURL=index-map-missing-offset-line.js.map
