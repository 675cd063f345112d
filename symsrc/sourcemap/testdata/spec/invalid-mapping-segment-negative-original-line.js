//# sourceMappingURL=invalid-mapping-segment-negative-original-line.js.map
