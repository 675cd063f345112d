//# sourceMappingURL=version-not-a-number.js.map
