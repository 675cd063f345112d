//# sourceMappingURL=invalid-mapping-segment-source-index-too-large.js.map
