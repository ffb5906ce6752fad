(function () {
  var CHAR = 6.7, UNITS = 1e6;
  var svg = document.getElementById('flame');
  var find = document.getElementById('find'), input = find.firstElementChild;
  var reset = document.getElementById('reset'), info = document.getElementById('info');
  var hello = info.textContent, from = 0, span = UNITS;
  var boxes = Array.prototype.map.call(svg.querySelectorAll('g.f'), function (g) {
    return {
      g: g, x: +g.dataset.x, w: +g.dataset.w, name: g.dataset.n, full: g.firstElementChild.textContent,
      rect: g.querySelector('rect'), text: g.querySelector('text')
    };
  });
  function fit(name, room) {
    var n = Math.floor(room / CHAR);
    return name.length <= n ? name : n < 3 ? '' : name.slice(0, n - 1) + '\u2026';
  }
  function draw() {
    var width = Math.max(300, document.documentElement.clientWidth || window.innerWidth);
    svg.setAttribute('width', width);
    find.setAttribute('x', width - 250);
    boxes.forEach(function (b) {
      var left = Math.max(b.x, from), right = Math.min(b.x + b.w, from + span);
      var x = (left - from) / span * width, w = (right - left) / span * width;
      b.g.classList.toggle('hide', w < 0.05);
      b.g.classList.toggle('dim', b.w > span + 1);
      b.rect.setAttribute('x', x);
      b.rect.setAttribute('width', Math.max(w, 0));
      b.text.setAttribute('x', x + 3);
      b.text.textContent = fit(b.name, w - 6);
    });
    reset.classList.toggle('hide', span === UNITS);
  }
  function zoom(x, w) { from = x; span = Math.max(w, 1); draw(); }
  // Boxes that match may lie in one another: each stretch of time counts once.
  function search(term) {
    term = term.toLowerCase();
    var hits = [], sum = 0, end = 0;
    boxes.forEach(function (b, i) {
      var hit = term !== '' && i > 0 && b.full.split('\n')[0].toLowerCase().indexOf(term) >= 0;
      b.g.classList.toggle('hit', hit);
      if (hit) hits.push(b);
    });
    hits.sort(function (a, b) { return a.x - b.x; });
    hits.forEach(function (b) {
      var right = b.x + b.w;
      if (right > end) { sum += right - Math.max(b.x, end); end = right; }
    });
    info.textContent = term === '' ? hello
      : hits.length + ' boxes match, ' + (sum / UNITS * 100).toFixed(1) + '% of the time';
  }
  boxes.forEach(function (b) {
    b.g.addEventListener('click', function () { zoom(b.x, b.w); });
    b.g.addEventListener('mouseenter', function () {
      if (!input.value) info.textContent = b.full.replace(/\n/g, '   ');
    });
    b.g.addEventListener('mouseleave', function () { if (!input.value) info.textContent = hello; });
  });
  reset.addEventListener('click', function () { zoom(0, UNITS); });
  input.addEventListener('input', function () { search(input.value); });
  window.addEventListener('resize', draw);
  find.classList.remove('hide');
  draw();
})();
