//# sourceMappingURL=sources-missing.js.map
