//# sourceMappingURL=invalid-mapping-not-a-string-2.js.map
