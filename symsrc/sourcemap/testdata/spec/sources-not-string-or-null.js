//# sourceMappingURL=sources-not-string-or-null.js.map
