//# sourceMappingURL=index-map-wrong-type-map.js.map
