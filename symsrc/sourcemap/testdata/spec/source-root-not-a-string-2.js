//# sourceMappingURL=source-root-not-a-string-2.js.map
