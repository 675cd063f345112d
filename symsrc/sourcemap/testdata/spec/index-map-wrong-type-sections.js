//# sourceMappingURL=index-map-wrong-type-sections.js.map
