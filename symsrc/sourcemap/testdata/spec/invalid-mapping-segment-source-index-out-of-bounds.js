//# sourceMappingURL=invalid-mapping-segment-source-index-out-of-bounds.js.map
