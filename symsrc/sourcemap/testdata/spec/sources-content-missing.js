//# sourceMappingURL=sources-content-missing.js.map
