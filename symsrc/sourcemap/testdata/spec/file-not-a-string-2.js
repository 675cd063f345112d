//# sourceMappingURL=file-not-a-string-2.js.map
