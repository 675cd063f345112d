//# sourceMappingURL=invalid-mapping-segment-negative-relative-name-index.js.map
