//# sourceMappingURL=index-map-invalid-base-mappings.js.map
