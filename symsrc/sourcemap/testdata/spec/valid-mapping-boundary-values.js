//# sourceMappingURL=valid-mapping-boundary-values.js.map
