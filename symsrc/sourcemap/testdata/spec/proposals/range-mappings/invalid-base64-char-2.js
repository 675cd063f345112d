//# sourceMappingURL=invalid-base64-char-2.js.map
