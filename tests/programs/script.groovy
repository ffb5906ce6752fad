class Part { String name; int price }

def parts = (1..200).collect { new Part(name: "part$it", price: it * 7 % 31) }
println(parts.groupBy { it.price % 5 }.collectEntries { k, v -> [k, v.sum { it.price }] }.sort())
try {
    [].first()
} catch (NoSuchElementException e) {
    println(e.message)
}
println((1..25).inject(1G) { a, b -> a * b })
def text = new StringBuilder()
5.times { i -> text << "${i}: ${'*' * i}\n" }
print(text)
