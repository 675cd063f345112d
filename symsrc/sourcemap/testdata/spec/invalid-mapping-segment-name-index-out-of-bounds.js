//# sourceMappingURL=invalid-mapping-segment-name-index-out-of-bounds.js.map
