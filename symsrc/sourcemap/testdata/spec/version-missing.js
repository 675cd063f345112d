//# sourceMappingURL=version-missing.js.map
