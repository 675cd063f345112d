//# sourceMappingURL=mappings-missing.js.map
