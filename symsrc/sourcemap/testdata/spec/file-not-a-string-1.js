//# sourceMappingURL=file-not-a-string-1.js.map
