//# sourceMappingURL=invalid-vlq-non-base64-char-padding.js.map
