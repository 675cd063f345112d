//# sourceMappingURL=invalid-mapping-segment-original-line-too-large.js.map
