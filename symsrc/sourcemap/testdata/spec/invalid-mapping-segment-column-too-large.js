//# sourceMappingURL=invalid-mapping-segment-column-too-large.js.map
