//# sourceMappingURL=invalid-mapping-segment-negative-relative-source-index.js.map
