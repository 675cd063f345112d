//# sourceMappingURL=names-missing.js.map
