//# sourceMappingURL=index-map-invalid-sub-map.js.map
