//# sourceMappingURL=invalid-mapping-segment-negative-original-column.js.map
