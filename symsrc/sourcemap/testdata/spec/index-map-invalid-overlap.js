//# sourceMappingURL=index-map-invalid-overlap.js.map
