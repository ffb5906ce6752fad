package stock;

import jakarta.persistence.Basic;
import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.Id;
import jakarta.persistence.Lob;
import jakarta.persistence.ManyToOne;

/** Knows its supplier by a lazy association; the text is lazy where the class is enhanced. */
@Entity
public class Item {
    @Id
    private Long id;
    private String name;
    private int count;

    @Lob
    @Basic(fetch = FetchType.LAZY)
    private String text;

    @ManyToOne(fetch = FetchType.LAZY)
    private Supplier supplier;

    protected Item() {}

    public Item(long id, String name, int count) {
        this.id = id;
        this.name = name;
        this.count = count;
        this.text = (name + ' ').repeat(20).trim();
    }

    public void take(int n) {
        if (n > count) {
            throw new IllegalStateException("only " + count + " of " + name);
        }
        count -= n;
    }

    public String getName() {
        return name;
    }

    public int getCount() {
        return count;
    }

    public String getText() {
        return text;
    }

    public Supplier getSupplier() {
        return supplier;
    }

    public void setSupplier(Supplier supplier) {
        this.supplier = supplier;
    }
}
