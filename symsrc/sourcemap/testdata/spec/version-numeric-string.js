//# sourceMappingURL=version-numeric-string.js.map
