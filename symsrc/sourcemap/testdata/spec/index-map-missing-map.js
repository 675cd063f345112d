//# sourceMappingURL=index-map-missing-map.js.map
