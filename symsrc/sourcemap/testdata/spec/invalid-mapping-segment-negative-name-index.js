//# sourceMappingURL=invalid-mapping-segment-negative-name-index.js.map
