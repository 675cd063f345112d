//# sourceMappingURL=invalid-mapping-segment-with-zero-fields.js.map
