//# sourceMappingURL=names-not-string.js.map
