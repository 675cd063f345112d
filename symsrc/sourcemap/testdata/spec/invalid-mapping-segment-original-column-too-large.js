//# sourceMappingURL=invalid-mapping-segment-original-column-too-large.js.map
