//# sourceMappingURL=invalid-mapping-segment-negative-relative-original-column.js.map
