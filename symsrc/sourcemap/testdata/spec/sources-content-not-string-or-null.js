//# sourceMappingURL=sources-content-not-string-or-null.js.map
