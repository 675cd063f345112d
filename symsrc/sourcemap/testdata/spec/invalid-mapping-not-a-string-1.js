//# sourceMappingURL=invalid-mapping-not-a-string-1.js.map
