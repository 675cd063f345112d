//# sourceMappingURL=valid-mapping-empty-string.js.map
