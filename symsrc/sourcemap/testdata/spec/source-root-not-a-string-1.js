//# sourceMappingURL=source-root-not-a-string-1.js.map
