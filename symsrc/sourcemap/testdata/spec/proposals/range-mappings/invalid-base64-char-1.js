//# sourceMappingURL=invalid-base64-char-1.js.map
