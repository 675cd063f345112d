//# sourceMappingURL=invalid-mapping-segment-name-index-too-large.js.map
