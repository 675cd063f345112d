//# sourceMappingURL=index-map-empty-sections.js.map
