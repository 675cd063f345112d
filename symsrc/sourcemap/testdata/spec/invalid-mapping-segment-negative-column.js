//# sourceMappingURL=invalid-mapping-segment-negative-column.js.map
