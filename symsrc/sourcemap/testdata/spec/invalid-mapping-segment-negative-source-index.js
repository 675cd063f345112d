//# sourceMappingURL=invalid-mapping-segment-negative-source-index.js.map
