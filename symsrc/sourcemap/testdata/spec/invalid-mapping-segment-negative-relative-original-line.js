//# sourceMappingURL=invalid-mapping-segment-negative-relative-original-line.js.map
