//# sourceMappingURL=index-map-missing-offset.js.map
