package cache

const strangerWord = "stranger"

func strangerMain(string) string { return "" }
