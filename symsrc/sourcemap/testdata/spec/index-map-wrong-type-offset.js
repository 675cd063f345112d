//# sourceMappingURL=index-map-wrong-type-offset.js.map
