//# sourceMappingURL=invalid-mapping-segment-negative-relative-column.js.map
