// Objects, closures, exceptions, regular expressions, dates and sorting: what an interpreter does all day.
function Shape(name, area) { this.name = name; this.area = area; }
Shape.prototype.toString = function () { return this.name + " of " + this.area; };
function counter() { var n = 0; return function () { return ++n; }; }
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
var shapes = [new Shape("square", 9), new Shape("circle", 3.14), new Shape("line", 0)];
shapes.sort(function (a, b) { return a.area - b.area; });
print(shapes.join(", "));
var next = counter(); next(); next();
print("count " + next() + ", fib " + fib(12));
for (var i = 0; i < 5; i++) {
    try {
        if (i % 2) throw new Shape("error", i);
        if (i == 4) nothing.at.all();
        print("round " + i);
    } catch (e) {
        print("caught " + (e instanceof Shape ? e : typeof e));
    } finally {
        print("finally " + i);
    }
}
print("a1b22c333".replace(/[0-9]+/g, function (d) { return "<" + d.length + ">"; }));
print(eval("[1, 2, 3].reverse().concat(['x']).join('')") + " " + parseInt("ff", 16) + " " + (0.1 + 0.2).toFixed(3));
var words = {}, text = "to be or not to be";
for (var w in text.split(" ")) words[text.split(" ")[w]] = (words[text.split(" ")[w]] || 0) + 1;
print([words.to, words.be, words.or].join());
